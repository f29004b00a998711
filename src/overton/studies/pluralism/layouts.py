def sections(analysis, judged=""): return []

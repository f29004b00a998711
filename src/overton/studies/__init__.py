"""The science: what each study asks and what the answers mean. No engine, no network, no file paths in here."""

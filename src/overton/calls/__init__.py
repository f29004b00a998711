"""The shared vocabulary: what is asked, of whom, and what comes back.

This room imports nothing of Overton's but `errors`; every other room imports it.
"""

from overton.calls._batching import Batching, Looked
from overton.calls._draw import Draw
from overton.calls._meaning import options_named
from overton.calls._reading import Hit, Hits, Page, hits_of, page_of
from overton.calls._serving import Server, Serving
from overton.calls._words import (
    Alternative,
    Answerer,
    Ask,
    Conduct,
    Failure,
    Form,
    Message,
    Price,
    Question,
    Reach,
    Reply,
    Request,
    Settings,
    Spot,
    Tokens,
    Trial,
    Usage,
    assistant,
    system,
    user,
    weighs,
)

__all__ = [
    "Alternative",
    "Answerer",
    "Ask",
    "Batching",
    "Conduct",
    "Draw",
    "Failure",
    "Form",
    "Hit",
    "Hits",
    "Looked",
    "Message",
    "Page",
    "Price",
    "Question",
    "Reach",
    "Reply",
    "Request",
    "Server",
    "Serving",
    "Settings",
    "Spot",
    "Tokens",
    "Trial",
    "Usage",
    "assistant",
    "hits_of",
    "options_named",
    "page_of",
    "system",
    "user",
    "weighs",
]

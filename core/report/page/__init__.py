"""The one page over all scales and profiles: results/index.html, the same in short as README.md, and the CSV files behind its numbers."""

from core.report.page.content import Edition, Page, Section, gathered_page
from core.report.page.writing import page_files

__all__ = ["Edition", "Page", "Section", "gathered_page", "page_files"]

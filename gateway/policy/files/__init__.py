"""Policy files, read strictly."""

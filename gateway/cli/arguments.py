"""Settings of a command, from the environment and its options."""

import argparse

from gateway.cli.parser import SETTING_OPTIONS
from gateway.config import Settings, load_settings


def settings_from(arguments: argparse.Namespace) -> Settings:
    return load_settings(**{name: getattr(arguments, name, None) for name in SETTING_OPTIONS})

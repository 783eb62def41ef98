"""Recordings in rosbag2's layout: a folder with metadata.yaml and an MCAP file."""

from openral.ros.recording.background import BackgroundWriter
from openral.ros.recording.reader import Record, Recording, TopicInfo
from openral.ros.recording.writer import RecordingWriter

__all__ = ["BackgroundWriter", "Record", "Recording", "RecordingWriter", "TopicInfo"]

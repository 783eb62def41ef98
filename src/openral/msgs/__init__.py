"""The interface files of `openral_msgs`; this folder is also a package that colcon builds."""

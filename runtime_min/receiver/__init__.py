"""What the receiver of a bundle does before it speaks: inspect, verify and unpack it."""

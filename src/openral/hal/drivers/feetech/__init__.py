"""SO-100 and SO-101: arms with Feetech STS3215 servos on one half-duplex serial bus."""

"""SO-100 and SO-101: arms of Feetech STS3215 servos on one half-duplex serial bus."""

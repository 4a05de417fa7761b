// The generations of Yubico's application, each with its additions and its errors.
extension CardProfile {
    static let yubiKeys: [CardProfile] = [
        yubiKey57, yubiKey54, yubiKey531, yubiKey43, yubiKey42, yubiKeyNEO, yubiKeyNFC,
    ]

    /// YubiKey 5 with firmware 5.7: RSA-4096, Curve25519, key moves, and an AES-192 management key.
    public static let yubiKey57 = yubiKey("yubikey-5.7", Firmware(5, 7, 1), atr: yubiKey5ATR) {
        $0.algorithms.formUnion([.rsa3072, .rsa4096, .ed25519, .x25519])
        $0.managementAlgorithm = .aes192
    }

    /// YubiKey 5 with firmware 5.4: metadata, AES management keys, logout.
    public static let yubiKey54 = yubiKey("yubikey-5.4", Firmware(5, 4, 3), atr: yubiKey5ATR)

    /// YubiKey 5 with firmware 5.3.1: asking for the PIN's status logs out.
    public static let yubiKey531 = yubiKey("yubikey-5.3.1", Firmware(5, 3, 1), atr: yubiKey5ATR) {
        $0.quirks.insert(.statusQueryLogsOut)
    }

    /// YubiKey 4 with firmware 4.3: attestation, no metadata, no serial number in PIV.
    public static let yubiKey43 = yubiKey("yubikey-4.3", Firmware(4, 3, 5), atr: yubiKey4ATR) {
        $0.quirks.insert(.attestationWithoutConstraints)
    }

    /// YubiKey 4 before 4.3.2: its RSA keys are weak, and VERIFY without data never says verified.
    public static let yubiKey42 = yubiKey("yubikey-4.2", Firmware(4, 2, 7), atr: yubiKey4ATR) {
        $0.quirks.insert(.statusQueryNeverVerified)
    }

    /// YubiKey NEO: tries as 63 0X, no P-384, objects of 2048 bytes, objects hidden before the PIN.
    public static let yubiKeyNEO = yubiKey(
        "yubikey-neo", Firmware(1, 0, 4),
        atr: [0x3B, 0xFC, 0x13, 0x00, 0x00, 0x81, 0x31, 0xFE, 0x15] + Array("YubikeyNEOr3".utf8) + [0xE1]
    ) {
        $0.algorithms.remove(.p384)
        $0.objectLimit = 2048
        $0.hasDiscovery = false
        $0.transport.takesExtendedLength = false
        $0.quirks.formUnion([.triesAs630X, .statusQueryNeverVerified, .hidesProtectedObjects])
    }

    /// YubiKey 5 over the air: the ATR has no room for the whole name, and all is readable as over contacts.
    public static let yubiKeyNFC = yubiKey57.variant("yubikey-nfc") {
        $0.atr = [0x3B, 0x8D, 0x80, 0x01, 0x80, 0x73, 0xC0, 0x21, 0xC0, 0x57] + Array("YubiKe".utf8) + [0xFF, 0x7F]
    }

    private static let yubiKey5ATR: [UInt8] =
        [0x3B, 0xFD, 0x13, 0x00, 0x00, 0x81, 0x31, 0xFE, 0x15, 0x80, 0x73, 0xC0, 0x21, 0xC0, 0x57]
        + Array("YubiKey".utf8) + [0x40]

    private static let yubiKey4ATR: [UInt8] =
        [0x3B, 0xF8, 0x13, 0x00, 0x00, 0x81, 0x31, 0xFE, 0x15] + Array("Yubikey4".utf8) + [0xD4]

    private static func yubiKey(
        _ name: String, _ firmware: Firmware, atr: [UInt8], _ change: (inout CardProfile) -> Void = { _ in }
    ) -> CardProfile {
        var profile = CardProfile(name: name, atr: atr)
        profile.firmware = firmware
        profile.extensions = firmware.instructions
        profile.algorithms = [.tripleDES, .rsa1024, .rsa2048, .p256, .p384]
        if firmware >= Firmware(5, 4, 2) { profile.algorithms.formUnion([.aes128, .aes192, .aes256]) }
        profile.keyReferences.remove(.secureMessaging)
        if firmware >= Firmware(4, 3, 0) { profile.keyReferences.insert(.attestation) }
        profile.objectLimit = 3063
        profile.quirks = [.otherSelectionDeselects, .anyPINCharacters, .changeLeavesUnverified]
        if firmware < Firmware(5, 4, 3) { profile.quirks.insert(.noLogout) }
        change(&profile)
        return profile
    }
}

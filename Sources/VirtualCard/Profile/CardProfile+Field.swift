// Cards of other makers, and copies: each shows the differences that clients have met in the field.
extension CardProfile {
    static let fieldCards: [CardProfile] = [
        pivApplet, pivAppletHashing, pivAppletMetadata, canoKey, openFIPS201, token2, pivKey, nitrokey, solo, dualCAC,
        oberthurVA, gieseckeDevrient, idemia, betaNIST, earlyCard, oldEndpoint, oldCompression, nestedTemplate,
        silentCounter, strictClone,
    ]

    /// PivApplet on a Java Card: clients know it by its label. After any command 9C needs the PIN again.
    public static let pivApplet = generic.variant("pivapplet") {
        $0.atr = [0x3B, 0x80, 0x80, 0x01, 0x01]
        $0.label = "PivApplet v0.9.0/RRSA-EcEx"
        $0.announcedAlgorithms = [0x03, 0x06, 0x07, 0x11]
        $0.algorithms = [.tripleDES, .aes128, .aes192, .aes256, .rsa1024, .rsa2048, .p256, .p384]
        $0.firmware = Firmware(4, 0, 0)
        $0.extensions = [.version, .reset, .setRetries, .importKey, .setManagementKey]
        $0.quirks = [.anyCommandSpendsPIN, .noLogout, .changeLeavesUnverified]
    }

    /// PivApplet for Java Card 2.2, which cannot sign a digest.
    public static let pivAppletHashing = pivApplet.variant("pivapplet-jc22") {
        $0.label = "PivApplet v0.9.0/RrSA-E"
        $0.announcedAlgorithms = [0x03, 0x06, 0x07, 0xF0]
        $0.quirks.insert(.hashesOnCard)
    }

    /// PivApplet after 0.9.0, under the same label: with metadata, also of empty slots, and with logout. It takes no key in the
    /// last nine retired slots, and answers in pieces of 255 bytes.
    public static let pivAppletMetadata = pivApplet.variant("pivapplet-metadata") {
        $0.announcedAlgorithms = [0x03, 0x0C, 0x07, 0x11, 0x14]
        $0.firmware = Firmware(5, 4, 0)
        $0.extensions.formUnion([.metadata, .serialNumber])
        $0.keyReferences.subtract((0x8D...0x95).map { CardKeyReference(rawValue: $0) })
        $0.hasDiscovery = false
        $0.transport.pieceLength = 255
        $0.quirks = [
            .fullIdentifierInTemplate, .algorithmsApart, .anyCommandSpendsPIN, .changeLeavesUnverified,
            .emptySlotsTellPolicies, .pinMetadataWithoutAlgorithm, .announces255,
        ]
    }

    /// CanoKey: a YubiKey's functions under another ATR, short lengths alone, and no Key History Object.
    public static let canoKey = generic.variant("canokey") {
        $0.atr =
            [0x3B, 0xF7, 0x11, 0x00, 0x00, 0x81, 0x31, 0xFE, 0x65] + Array("Canokey".utf8) + [0x99]
        $0.label = nil
        $0.algorithms = [.tripleDES, .rsa2048, .p256, .p384]
        $0.firmware = Firmware(5, 7, 0)
        $0.extensions = [.version, .serialNumber, .metadata, .reset, .setRetries, .importKey, .setManagementKey]
        $0.transport.takesExtendedLength = false
        $0.quirks = [.noKeyHistory, .announces255]
    }

    /// OpenFIPS201 on a Java Card.
    public static let openFIPS201 = generic.variant("openfips201") { $0.quirks = [.anyCommandSpendsPIN] }

    /// Token2: a copy that claims firmware 5.7.0 without its features, and has neither GUID nor FASC-N.
    public static let token2 = pivApplet.variant("token2") {
        $0.label = nil
        $0.announcedAlgorithms = []
        $0.firmware = Firmware(5, 7, 0)
        $0.extensions.insert(.serialNumber)
        $0.quirks.insert(.noIdentifiers)
    }

    /// PIVKey: no management key, no discovery object, and 9E wants the PIN.
    public static let pivKey = generic.variant("pivkey") {
        $0.atr = [0x3B, 0x80, 0x80, 0x01, 0x01]
        $0.hasDiscovery = false
        $0.quirks = [.noManagementKey, .cardAuthenticationWantsPIN, .implicitlySelected]
    }

    /// Nitrokey 3: RSA-4096, and a slow answer for an absent object.
    public static let nitrokey = generic.variant("nitrokey-3") {
        $0.algorithms.formUnion([.rsa3072, .rsa4096])
        $0.label = "Nitrokey PIV"
        $0.announcedAlgorithms = [0x03, 0x0C, 0x07, 0x11]
        $0.absentObjectDelay = .milliseconds(127)
    }

    /// SoloKeys: Ed25519 under an identifier of its own.
    public static let solo = generic.variant("solo-2") {
        $0.label = "SoloKeys PIV"
        $0.algorithms.insert(.ed25519)
        $0.announcedAlgorithms = [0x03, 0x11, 0x22]
        $0.quirks = [.ed25519As22, .absentObjectsAreEmpty]
    }

    /// A dual CAC and PIV card: no discovery object, no second challenge, and no PIN status.
    public static let dualCAC = generic.variant("dual-cac") {
        $0.atr = [
            0x3B, 0xDB, 0x96, 0x00, 0x80, 0x1F, 0x03, 0x00, 0x31, 0xC0, 0x64, 0x77, 0xE3, 0x03, 0x00, 0x82, 0x90, 0x00,
            0xC1,
        ]
        $0.transport.transmissionProtocol = .t0
        $0.transport.takesExtendedLength = false
        $0.hasDiscovery = false
        $0.quirks = [
            .discoveryRefused, .hidesProtectedObjects, .otherSelectionDeselects, .oneChallenge, .statusQueryRefused,
            .noLogout,
        ]
    }

    /// Oberthur's card for Veterans Affairs, with the life-cycle byte `0F` in its historical bytes.
    public static let oberthurVA = dualCAC.variant("oberthur-va") {
        $0.atr = [
            0x3B, 0xDB, 0x96, 0x00, 0x80, 0x1F, 0x03, 0x00, 0x31, 0xC0, 0x64, 0xB0, 0xF3, 0x10, 0x00, 0x0F, 0x90, 0x00,
            0x88,
        ]
    }

    /// Giesecke & Devrient: the PIX in the SELECT answer is shifted by a byte.
    public static let gieseckeDevrient = generic.variant("giesecke-devrient") {
        $0.atr = [0x3B, 0xF9, 0x18, 0x00, 0x00, 0x00] + Array("SCE7 ".utf8) + [0x03, 0x00, 0x20, 0x46]
        $0.transport.transmissionProtocol = .t0
        $0.transport.takesExtendedLength = false
        $0.quirks = [.shiftedIdentifierInTemplate]
    }

    /// IDEMIA ID-One: offers secure messaging, without which it gives little over the air.
    public static let idemia = contactless.variant("idemia-id-one") { $0.announcedAlgorithms = [0x27] }

    /// A card of NIST's demonstration set: its objects come without tag 53.
    public static let betaNIST = generic.variant("nist-beta") { $0.quirks = [.bareObjects] }

    /// A card of the first years: the whole AID in the SELECT answer, a warning with it, and padding after objects.
    public static let earlyCard = generic.variant("early-card") {
        $0.quirks = [.fullIdentifierInTemplate, .selectWarns, .trailingBytes]
    }

    /// A CAC endpoint card after SP 800-73-1: the PIN has key reference 00.
    public static let oldEndpoint = generic.variant("cac-endpoint") {
        $0.hasDiscovery = false
        $0.quirks = [.pinUnderGlobalReference, .noLogout]
    }

    /// A card that was written by software with the old gzip flag.
    public static let oldCompression = generic.variant("old-gzip") { $0.quirks = [.oldCompressionFlag] }

    /// A card that puts its template into a second one and announces too many remaining bytes.
    public static let nestedTemplate = generic.variant("nested-template") {
        $0.transport.takesExtendedLength = false
        $0.quirks = [.nestedTemplate, .announcesTooMuch]
    }

    /// A card that does not tell how many tries are left.
    public static let silentCounter = generic.variant("silent-counter") { $0.quirks = [.triesUntold] }

    /// A copy that charges a try for a malformed VERIFY and answers all at once.
    public static let strictClone = generic.variant("strict-clone") {
        $0.quirks = [.malformedPINCostsTry, .ignoresExpectedLength, .touchTimeoutIs6985]
    }
}

// Cards that keep to SP 800-73-4, in each manner of transport.
extension CardProfile {
    static let standardCards: [CardProfile] = [generic, genericExtended, genericShort, genericT0, contactless]

    /// A JCOP 3 card. Clients that go by the ATR do not know it and take it as any PIV card.
    public static let generic = CardProfile(
        name: "generic",
        atr: [
            0x3B, 0xDC, 0x18, 0xFF, 0x81, 0x91, 0xFE, 0x1F, 0xC3, 0x80, 0x73, 0xC8, 0x21, 0x13, 0x66, 0x05, 0x03, 0x63,
            0x51, 0x00, 0x02, 0x50,
        ]
    ).with { $0.label = "PIV" }

    /// The generic card, which announces that it takes extended length fields.
    public static let genericExtended = generic.variant("generic-extended") {
        $0.transport.announcesExtendedLength = true
    }

    /// The generic card without extended length fields.
    public static let genericShort = generic.variant("generic-short") { $0.transport.takesExtendedLength = false }

    /// A card that speaks T=0.
    public static let genericT0 = generic.variant("generic-t0") {
        $0.atr = [0x3B, 0x73, 0x96, 0x00, 0x00, 0x80, 0x31, 0xC0]
        $0.transport.transmissionProtocol = .t0
        $0.transport.takesExtendedLength = false
    }

    /// A card that is read over the air, without a virtual contact interface.
    public static let contactless = generic.variant("contactless") {
        $0.atr = [0x3B, 0x80, 0x80, 0x01, 0x01]
        $0.transport.interface = .contactless
    }

    private func with(_ change: (inout CardProfile) -> Void) -> CardProfile {
        variant(name, change)
    }
}

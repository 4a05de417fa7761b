extension CardProfile {
    /// Every profile there is.
    public static let all: [CardProfile] = standardCards + yubiKeys + fieldCards

    /// The profile of that name.
    public static func named(_ name: String) -> CardProfile? {
        all.first { $0.name == name }
    }

    /// This profile under another name, with changes.
    public func variant(_ name: String, _ change: (inout CardProfile) -> Void = { _ in }) -> CardProfile {
        var copy = self
        copy.name = name
        change(&copy)
        return copy
    }
}

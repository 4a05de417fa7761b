internal import KeychainModel
internal import Wire

extension ScryptCost: WireRecord {
    static let fields = Fields(ScryptCost.init(n:r:p:), \.n, \.r, \.p)
}

extension BoundCard: WireRecord {
    static let fields = Fields(
        BoundCard.init(_:label:key:proof:isChallenged:), \.token, \.label, \.key, \.proof, \.isChallenged)
}

extension UnlockingDetails: WireRecord {
    static let fields = Fields(
        UnlockingDetails.init, setting: \.hasPassword, \.passwordCost, \.cards, \.failures)
}

extension PasswordChange: WireRecord {
    static let fields = Fields(PasswordChange.init, \.leftover, setting: \.renewed, \.dropped)
}

extension BackupCount: WireRecord {
    static let fields = Fields(BackupCount.init(items:leftOut:damaged:), \.items, \.leftOut, \.damaged)
}

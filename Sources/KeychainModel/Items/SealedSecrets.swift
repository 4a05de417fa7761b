/// The new secrets of items that are under an application password, each sealed under its own.
///
/// They are made before a keychain is held for the change: people and keys take their time.
public struct SealedSecrets: Sendable {
    package var byItem: [UniqueID: [UInt8]] = [:]

    public init() {}
}

internal import HostAPI
internal import KeychainModel

/// The places that the items of an answer come from, and the obstacles to their use: `v_Provenance`.
struct Provenances {
    private let service: any KeychainService
    private let context: RequestContext
    /// The details of the keychains so far; nil for a keychain that is not there.
    private var keychains: [KeychainIdentifier: KeychainDetails?] = [:]

    init(service: any KeychainService, _ context: RequestContext) {
        self.service = service
        self.context = context
    }

    private mutating func details(_ keychain: KeychainIdentifier) -> KeychainDetails? {
        if let known = keychains[keychain] { return known }
        let details = try? service.keychain(keychain, context)
        keychains[keychain] = .some(details)
        return details
    }

    /// The name of the item's keychain in messages.
    mutating func name(of item: Item) -> String { details(item.keychain)?.searchName ?? item.keychain.rawValue }

    /// The provenance of an item; nil where its keychain is no longer there.
    mutating func provenance(of item: Item) -> ItemDictionary? {
        guard let details = details(item.keychain) else { return nil }
        let (keychain, isFile) = (details.keychain, details.keychain.kind == .file)
        var dictionary: ItemDictionary = [
            "keychain": .string(details.searchName), "identifier": .string(item.keychain.rawValue),
            "readOnly": .bool(!isFile || !keychain.status.contains(.writable)),
            "locked": .bool(isFile && !keychain.status.contains(.unlocked)),
        ]
        if !details.otherLocations.isEmpty {
            dictionary["otherLocations"] = .array(details.otherLocations.map { .string($0) })
        }
        dictionary["token"] = item.reference.tokenID.map { .string($0) }
        dictionary["slot"] = item.reference.objectName.map { .string($0) }
        dictionary["triesLeft"] = details.triesLeft.map { .number(Int64($0)) }
        return dictionary
    }
}

extension KeychainDetails {
    /// The keychain's name in searches: the file's, the reader's, or that of a card that is not inserted.
    fileprivate var searchName: String {
        keychain.kind == .file || keychain.location.isEmpty ? keychain.name : keychain.location
    }
}

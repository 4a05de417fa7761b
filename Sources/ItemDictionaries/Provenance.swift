internal import HostAPI
internal import KeychainModel

extension KeychainDetails {
    /// The place that an item of the keychain comes from, and the obstacles to its use: `v_Provenance`.
    func provenance(of item: Item) -> ItemDictionary {
        let isFile = keychain.kind == .file
        var dictionary: ItemDictionary = [
            "keychain": .string(searchName), "identifier": .string(item.keychain.rawValue),
            "readOnly": .bool(!isFile || !keychain.status.contains(.writable)),
            "locked": .bool(isFile && !keychain.status.contains(.unlocked)),
        ]
        if !otherLocations.isEmpty { dictionary["otherLocations"] = .array(otherLocations.map { .string($0) }) }
        dictionary["token"] = item.reference.tokenID.map { .string($0) }
        dictionary["slot"] = item.reference.objectName.map { .string($0) }
        dictionary["triesLeft"] = triesLeft.map { .number(Int64($0)) }
        return dictionary
    }
}

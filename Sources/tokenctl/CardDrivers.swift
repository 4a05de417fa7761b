internal import HostAPI

/// The drivers of cards that the host has.
enum CardDrivers {
    private static let all = (try? HostAccess().host.drivers(.silent)) ?? []

    /// The names of the drivers that are disabled.
    static func disabled(in host: any KeychainService) -> [String] {
        ((try? host.drivers(.silent)) ?? []).filter(\.isDisabled).map(\.name)
    }

    /// Whether a driver has this name, with which ids of its cards begin.
    static func isName(_ name: some StringProtocol) -> Bool { all.contains { $0.name == name } }

    /// Whether a name is one of a driver's fixed names of keys, such as a PIV slot.
    static func isKeyName(_ name: String) -> Bool { all.contains { $0.keyNames.contains(name.uppercased()) } }
}

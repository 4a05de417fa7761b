internal import Wire

extension HostStatus.Client: WireRecord {
    static let fields = Fields(
        HostStatus.Client.init(process:program:count:), \.process, \.program, \.count)
}

extension HostStatus: WireRecord {
    static let fields = Fields(
        HostStatus.init(process:version:start:clients:readersWithPIN:unlockedKeychains:), \.process, \.version, \.start,
        \.clients, \.readersWithPIN, \.unlockedKeychains)
}

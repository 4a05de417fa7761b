import HostAPI

/// Messages about the host's own process.
extension MessageSamples {
    static let hostRequests: [HostRequest] = [.hostStatus]

    static let hostAnswers: [HostAnswer] = [.hostStatus(hostStatus)]

    private static let hostStatus = HostStatus(
        process: 4711, version: "0.1.0", start: 1_800_000_000,
        clients: [
            HostStatus.Client(process: 4712, program: "firefox", count: 2), HostStatus.Client(process: 0, program: ""),
        ])
}

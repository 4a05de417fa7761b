import HostAPI
import KeychainModel

/// Messages about the host's own process.
extension MessageSamples {
    static let hostRequests: [HostRequest] = [
        .hostStatus, .journal(after: nil, waiting: .zero), .journal(after: .max, waiting: .seconds(60)),
    ]

    static let hostAnswers: [HostAnswer] = [.hostStatus(hostStatus), .journal(journal)]

    private static let hostStatus = HostStatus(
        process: 4711, version: "0.1.0", start: 1_800_000_000,
        clients: [
            HostStatus.Client(process: 4712, program: "firefox", count: 2), HostStatus.Client(process: 0, program: ""),
        ], readersWithPIN: ["Yubico YubiKey 00 00"], unlockedKeychains: ["/srv/jo/login.keychain", ""])

    private static let journal = JournalPage(
        JournalEntry.Action.allCases.map {
            JournalEntry(
                time: 1_800_000_000_123, program: "ssh", process: 4712, $0, item: "Jo's key", keychain: "login",
                failure: nil)
        } + [
            JournalEntry(
                time: 0, program: "", process: 0, .lock, item: nil, keychain: nil, failure: .userCanceled)
        ], next: .max, isIncomplete: true)
}

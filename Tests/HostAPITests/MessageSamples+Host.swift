import HostAPI
import KeychainModel

/// Messages about the host's own process.
extension MessageSamples {
    static let hostRequests: [HostRequest] = [
        .hostStatus, .journal(after: nil, waiting: .zero), .journal(after: .max, waiting: .seconds(60)),
    ]

    static let accessRequests: [HostRequest] = [
        .accessDecisions(in: nil), .accessDecisions(in: [KeychainIdentifier(rawValue: "")]),
        .changeAccess(.allow(nil, [])), .changeAccess(.allow(["/usr/bin/mailer", ""], [local, local])),
        .changeAccess(.deny([], [])), .changeAccess(.deny(["/usr/bin/mailer"], [local])),
        .changeAccess(.reset(program: nil, nil)), .changeAccess(.reset(program: "/usr/bin/mailer", [local])),
        .changeAccess(.replace([], local)), .changeAccess(.replace(accessRules, local)), .access(to: local),
    ]

    private static let accessRules = [
        AccessRule(.any), AccessRule(.asking, .sign), AccessRule(.path("/usr/bin/mailer"), .read),
        AccessRule(.decided(name: "/usr/bin/mailer", identity: [2, 0xFF])),
    ]

    static let hostAnswers: [HostAnswer] = [
        .hostStatus(hostStatus), .journal(journal), .accessDecisions(Outcome(accessEntries)), .accessChange(0),
        .accessChange(.max), .access(ItemAccess(allowed: [], denied: [])),
        .access(ItemAccess(allowed: accessRules, denied: accessRules)),
    ]

    private static let accessEntries =
        [nil, .sign, .export].map { (use: AccessQuestion.Use?) in
            AccessEntry(
                item: "mail of anna in login", reference: local, program: "/usr/bin/mailer", use: use, isAllowed: true,
                isLasting: true)
        } + [AccessEntry(item: "", reference: nil, program: nil, use: nil, isAllowed: false, isLasting: false)]

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

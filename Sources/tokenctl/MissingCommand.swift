internal import Localization

/// Subcommands of macOS's `security` that have no meaning on Linux: the reason, and the alternative.
enum MissingCommand {
    static let reasons: [String: CommandError] = {
        var reasons: [String: CommandError] = [:]
        for (names, why, instead) in rows {
            for name in names { reasons[name] = CommandError("there is no '\(name)' here", why, advice: instead) }
        }
        return reasons
    }()

    /// Commands that grant programs ahead what a person decides here. They do nothing, so that scripts for `security` run.
    static let needless = [
        "set-generic-password-partition-list", "set-internet-password-partition-list", "set-key-partition-list",
    ]

    /// The note that is printed in place of running such a command; nil for every other.
    static func note(_ arguments: [String]) -> LocalizedText? {
        guard let name = arguments.first(where: { $0 != "help" }), needless.contains(name) else { return nil }
        return "note: \(name) has no effect: you are asked when a program first uses an item"
    }

    private static let rows: [(names: [String], why: LocalizedText, instead: LocalizedText)] = [
        (
            ["set-identity-preference", "get-identity-preference"],
            "programs on Linux choose the identity themselves", "name it to the program as find-identity prints it"
        ),
        (
            [
                "add-trusted-cert", "remove-trusted-cert", "dump-trust-settings", "user-trust-settings-enable",
                "trust-settings-export", "trust-settings-import",
            ],
            "trust belongs to the whole system, and p11-kit keeps it", "use 'trust anchor' and 'trust list'"
        ),
        (["cms"], "messages are made by other programs", "use 'openssl cms', or gpgsm"),
        (["create-db", "create-key-loop"], "keychains are the only databases", "use create-keychain"),
        (
            ["recode-keychain"], "no keychain has its key from another one",
            "use set-keychain-password, or backup-keychain and restore-keychain"
        ),
        (
            ["authorize", "authorizationdb", "execute-with-privileges"],
            "rights are granted by polkit and sudo", "use pkexec, pkcheck or sudo"
        ),
        (
            ["create-filevaultmaster-keychain", "filevault"], "disks are encrypted by LUKS",
            "use cryptsetup or systemd-cryptenroll"
        ),
        (["leaks"], "it is a tool for developers of macOS", "use 'valgrind tokenctl …'"),
        (
            [
                "install-mds", "platformsso", "requirement-evaluate", "translocate-create", "translocate-policy-check",
                "translocate-status-check", "translocate-original-path",
            ],
            "it serves a mechanism that only macOS has", "leave it out"
        ),
    ]
}

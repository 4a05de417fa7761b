import Foundation
import SystemCrypto
import TestSupport
import Testing

/// A person is asked in the language of the program that asks, whatever the language of the session's host.
@Suite struct ClientLanguageTests {
    private let session: OwnAgent
    private var card: ConsumerCard { session.card }

    init() throws {
        let card = try ConsumerCard(["9A": .ecP256, "9C": .ecP256])
        // A host finds the translations below the prefix that it is installed in.
        try card.succeed([
            "sh", "-euc",
            """
            cd "$0"
            mkdir -p prefix/libexec prefix/share/locale/de/LC_MESSAGES
            cp "$1" prefix/libexec/tokenkitd
            msgfmt --output-file=prefix/share/locale/de/LC_MESSAGES/tokenkit.mo "$2"
            """, card.folder.path, Program.host,
            Program.packageRoot.appending(path: "po/de.po").path(percentEncoded: false),
        ])
        session = try OwnAgent(card, host: card.path("prefix/libexec/tokenkitd"), variables: ["LC_ALL": "C.UTF-8"])
    }

    private func variables(_ language: String) -> [String: String] {
        session.variables.merging(["LC_ALL": "C.UTF-8", "LANGUAGE": language]) { $1 }
    }

    @Test(arguments: [("de", "PIN für"), ("en", "PIN for")])
    func aModulesProgramIsAskedInItsLanguage(language: String, text: String) throws {
        defer { session.host.stop() }
        try card.succeed(
            [
                "pkcs11-tool", "--module", ConsumerCard.module, "--sign", "--id", "01", "-m", "ECDSA-SHA256", "-i",
                card.path("message"), "-o", card.path("signature"),
            ], variables(language))
        let questions = try card.pinentryQuestions
        try #require(questions.count == 1, "\(questions)")
        #expect(questions[0].contains(text), "\(questions)")
    }

    @Test(arguments: [("de", "Ein Programm möchte"), ("en", "A program wants")])
    func anAgentsProgramIsAskedInItsLanguage(language: String, text: String) throws {
        defer { session.host.stop() }
        try card.folder.write("9A.pub", session.keys()[0] + "\n")
        let sign = ["ssh-keygen", "-Y", "sign", "-U", "-n", "file", "-f", card.path("9A.pub"), card.path("message")]
        try card.succeed(sign, variables("en"))
        #expect(try card.pinentryQuestions.count == 1)
        try card.succeed(["ssh-add", "-T", card.path("9A.pub")], variables(language))
        let permissions = try card.pinentryPermissions
        try #require(permissions.count == 1, "\(permissions)")
        #expect(permissions[0].contains(text), "\(permissions)")
    }
}

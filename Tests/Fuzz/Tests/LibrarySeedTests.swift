import Foundation
import TestSupport
import Testing
import Wire

/// The seeds of the fuzz targets for the C library. With TOKENKIT_WRITE_SEEDS they are written anew.
@Suite struct LibrarySeedTests {
    private static let folder = Program.packageRoot.appending(path: "Tests/Fuzz/Seeds")

    private static let service = KeychainAttribute(0x7376_6365, Array("mail".utf8))
    private static let generic: UInt64 = 0x6765_6E70
    private static let pin = Array("123456".utf8)

    private static let calls: [(call: KeychainCall, secrets: [UInt8])] = [
        (KeychainCall(.defaultPath, allowsQuestions: false), []),
        (KeychainCall(.unlock, allowsQuestions: false, hasPassword: true), pin),
        (KeychainCall(.status, allowsQuestions: true, keychain: Array("login".utf8)), []),
        (
            KeychainCall(.add, allowsQuestions: true, hasPassword: true, itemClass: generic, attributes: [service]),
            Array("secret".utf8)
        ),
        (
            KeychainCall(.find, allowsQuestions: true, hasPassword: true, itemClass: generic, attributes: [service]),
            []
        ),
        (KeychainCall(.search, allowsQuestions: true, itemClass: generic), []),
        (KeychainCall(.item, allowsQuestions: true, item: Array("genp0123456789abcdef".utf8)), []),
        (
            KeychainCall(
                .content, allowsQuestions: true, hasPassword: true, keychain: [],
                item: Array("genp0123456789abcdef".utf8),
                attributes: [KeychainAttribute(0x6C61_626C, nil)]), []
        ),
        (KeychainCall(.lockAll, allowsQuestions: true), []),
    ]

    private static let samples: [String: [UInt8]] = [
        "keychainHello/library": KeychainHello(
            wantsNotes: true, hasMoreRights: false, environment: [Array("HOME=/root".utf8)]
        ).encoded(),
        "keychainCall/find": calls[4].call.encoded(),
        "keychainCall/content": calls[7].call.encoded(),
        "keychainAnswer/item": KeychainAnswer(
            notes: [[0x61]], path: [0x62], number: 1, items: [KeychainItem(keychain: [0x63], reference: [0x64])],
            attributes: [KeychainAttribute(1, [2]), KeychainAttribute(3, nil)]
        ).encoded(),
        "keychainAnswer/failure": KeychainAnswer(code: -25300, reason: Array("no item matches".utf8)).encoded(),
        "keychainCalls/program": calls.reduce(into: []) { bytes, next in
            let fields = next.call.encoded()
            bytes += [UInt8(fields.count >> 8), UInt8(fields.count & 0xFF), UInt8(next.secrets.count)]
            bytes += fields + next.secrets
        },
    ]

    @Test func eachMessageHasASeedOfThePresentForm() throws {
        for (name, bytes) in Self.samples {
            let file = Self.folder.appending(path: name)
            if ProcessInfo.processInfo.environment["TOKENKIT_WRITE_SEEDS"] != nil {
                let folder = file.deletingLastPathComponent()
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                try Data(bytes).write(to: file)
            }
            #expect(try Data(contentsOf: file) == Data(bytes), "\(name)")
        }
    }
}

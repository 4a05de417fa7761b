import Foundation
import SystemCrypto
import Testing

/// Keys of `ssh-keygen` are read, and `ssh-keygen` reads ours.
@Suite struct OpenSSHPrivateKeyTests {
    static let types: [(type: String, bits: String, kind: KeyKind)] = [
        ("ed25519", "256", .ed25519), ("ecdsa", "256", .ecP256), ("ecdsa", "384", .ecP384), ("ecdsa", "521", .ecP521),
        ("rsa", "2048", .rsa(bits: 2048)), ("rsa", "3072", .rsa(bits: 3072)),
    ]

    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ssh-\(UUID().uuidString)")

    private func keygen(_ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ssh-keygen", "-q"] + arguments
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(arguments): \(output)")
        return output
    }

    private func file(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appendingPathComponent(name)))
    }

    private func inFolder(_ body: () throws -> Void) throws {
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        try body()
    }

    @Test(arguments: types) func itsKeysAreRead(row: (type: String, bits: String, kind: KeyKind)) throws {
        try inFolder {
            _ = try keygen("-t", row.type, "-b", row.bits, "-N", "", "-C", "a comment", "-f", "key")
            let key = try PrivateKey(encoded: secret(file("key")))
            #expect(key.kind == row.kind)
            // `ssh-keygen -e` gives the public half in a format that both know.
            guard row.kind != .ed25519 else { return }
            let pem = Array(try keygen("-e", "-m", "PKCS8", "-f", "key").utf8)
            #expect(try PEM.blocks(labelled: "PUBLIC KEY", in: pem).first == key.publicKey.spki)
        }
    }

    @Test func aKeyThatSSHDoesNotUseHasNoForm() throws {
        let key = try PrivateKey.generate(.x25519).publicKey
        #expect(throws: CryptoError(.unsupported, "")) { try key.openSSH() }
    }

    @Test(arguments: types) func ourKeysAreReadByItAndByUs(row: (type: String, bits: String, kind: KeyKind)) throws {
        try inFolder {
            let key = try PrivateKey.generate(row.kind)
            let text = reveal(try key.openSSH(comment: "anna@example"))
            #expect(try PrivateKey(encoded: secret(text)).publicKey == key.publicKey)
            let path = folder.appendingPathComponent("key").path
            #expect(
                FileManager.default.createFile(
                    atPath: path, contents: Data(text), attributes: [.posixPermissions: 0o600]))
            let line = try keygen("-y", "-P", "", "-f", "key").split(separator: " ")
            let words = try #require(line.count == 3 ? line : nil)
            #expect(words[2].trimmingCharacters(in: .newlines) == "anna@example")
            let blob = try #require(Data(base64Encoded: String(words[1])))
            #expect(try [UInt8](blob) == key.publicKey.openSSH())
            let raw = key.publicKey.rawRepresentation
            let tail = row.type == "rsa" ? key.publicKey.rsaComponents?.modulus ?? [] : raw
            #expect([UInt8](blob.suffix(tail.count)) == tail)
        }
    }

    @Test func itsEncryptedKeysAreReadWithTheirPassword() throws {
        try inFolder {
            _ = try keygen("-t", "ecdsa", "-N", "secret", "-a", "2", "-f", "key")
            let bytes = try file("key")
            let key = try PrivateKey(encoded: secret(bytes), password: secret("secret"))
            let pem = Array(try keygen("-e", "-m", "PKCS8", "-f", "key.pub").utf8)
            #expect(try PEM.blocks(labelled: "PUBLIC KEY", in: pem).first == key.publicKey.spki)
            #expect(throws: CryptoError(.wrongPassword, "")) {
                try PrivateKey(encoded: secret(bytes), password: secret("other"))
            }
            #expect(throws: CryptoError(.passwordRequired, "")) { try PrivateKey(encoded: secret(bytes)) }
        }
    }

    @Test func ourEncryptedKeysAreReadByIt() throws {
        try inFolder {
            let key = try PrivateKey.generate(.ed25519)
            let text = reveal(try key.encryptedOpenSSH(comment: "x", password: secret("secret"), rounds: 2))
            #expect(try PrivateKey(encoded: secret(text), password: secret("secret")).publicKey == key.publicKey)
            let path = folder.appendingPathComponent("key").path
            #expect(
                FileManager.default.createFile(
                    atPath: path, contents: Data(text), attributes: [.posixPermissions: 0o600]))
            let words = try keygen("-y", "-P", "secret", "-f", "key").split(separator: " ")
            let blob = try #require(words.count > 1 ? Data(base64Encoded: String(words[1])) : nil)
            #expect([UInt8](blob.suffix(32)) == key.publicKey.rawRepresentation)
        }
    }

    @Test(arguments: ["aes256-cbc", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"])
    func otherEncryptionsAreRefusedByName(cipher: String) throws {
        try inFolder {
            _ = try keygen("-t", "ed25519", "-N", "secret", "-a", "1", "-Z", cipher, "-f", "key")
            let error = #expect(throws: CryptoError(.unsupported, "")) {
                try PrivateKey(encoded: secret(file("key")), password: secret("secret"))
            }
            #expect(error?.description.contains(cipher) == true)
        }
    }

    @Test func anX25519KeyIsNoneOfSSHs() throws {
        let key = try TestKeys.key(.x25519)
        #expect(errorCode { () throws(CryptoError) in _ = try key.openSSH() } == .unsupported)
    }

    @Test func noCutAndNoChangedByteTraps() throws {
        for kind in [KeyKind.ed25519, .ecP256] {
            let key = try TestKeys.key(kind)
            let pem = reveal(try key.openSSH(comment: "x"))
            let der = try #require(try PEM.blocks(labelled: "OPENSSH PRIVATE KEY", in: pem).first)
            for length in 0..<der.count {
                #expect(throws: CryptoError.self) { try read(Array(der.prefix(length))) }
            }
            for index in der.indices {
                // The outer public key and the comment are neither checked nor used.
                if let changed = try? read(flipping(der, at: index)) { #expect(changed.publicKey == key.publicKey) }
            }
            #expect(throws: CryptoError.self) { try read(der + [0]) }
        }
    }

    private func read(_ der: [UInt8]) throws -> PrivateKey {
        try PrivateKey(encoded: secret(PEM.encode(der, label: "OPENSSH PRIVATE KEY")))
    }
}

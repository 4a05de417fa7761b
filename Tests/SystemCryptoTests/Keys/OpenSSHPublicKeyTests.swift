import Foundation
import SystemCrypto
import Testing

@Suite struct OpenSSHPublicKeyTests {
    private func line(_ key: PublicKey, comment: String = "") throws -> String {
        let blob = try key.openSSH()
        let length = blob.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        let kind = String(decoding: blob[4..<4 + length], as: UTF8.self)
        return "\(kind) \(Data(blob).base64EncodedString())\(comment)"
    }

    @Test(
        arguments: [KeyKind.rsa(bits: 2048), .ecP256, .ecP384, .ecP521, .ed25519],
        ["", " anna@example\n", "  a b c\r\n"])
    func aLineIsReadBack(kind: KeyKind, comment: String) throws {
        let key = try PrivateKey.generate(kind).publicKey
        #expect(try OpenSSHPublicKeys.parse(utf8(line(key, comment: comment))) == [key])
    }

    @Test func anythingElseIsMalformed() throws {
        let good = try line(PrivateKey.generate(.ed25519).publicKey)
        let words = good.split(separator: " ").map(String.init)
        let texts = [
            "ssh-ed25519", words[1], "ssh-rsa \(words[1])", "\(words[0]) \(words[1].dropLast(4))",
            "\(words[0]) \(words[1])AAAA", "\(words[0]) !\(words[1].dropFirst())", "\(words[0]) ====", "\(words[0]) A",
            "\(words[0]) AAAAC3NzaC1lZDI1NTE5/////w==", good + String(repeating: " ", count: 1 << 16),
        ]
        for text in texts {
            #expect(throws: CryptoError(.malformed, ""), "\(text.prefix(200))") {
                try OpenSSHPublicKeys.parse(utf8(text))
            }
        }
    }

    @Test func allLinesCount() throws {
        let keys = try [KeyKind.ed25519, .ecP256, .rsa(bits: 2048)].map { try PrivateKey.generate($0).publicKey }
        let lines = try keys.map { try line($0, comment: " # no comment of the file") }
        let text = "# mine\n\n" + lines.joined(separator: "\r\n \t\n  # \(lines[0])\n")
        #expect(try OpenSSHPublicKeys.parse(utf8(text)) == keys)
        #expect(try OpenSSHPublicKeys.parse(utf8(text + "\n")) == keys)
        #expect(try OpenSSHPublicKeys.parse(utf8("\n# nothing\n")).isEmpty)
        #expect(OpenSSHPublicKeys.areIn(utf8(text)))
    }

    @Test(arguments: [
        ("%\n# x\n%", nil), ("%\nssh-ed25519 AAAA\n%", "line 2, OpenSSH key: it is malformed"),
        ("%\n\n% %\nnonsense", "line 4, OpenSSH public key: it is malformed"),
        ("#\nno-pty,command=\"a b\" %", "line 2, options before an OpenSSH public key: it is not supported"),
        ("cert-authority %\n%", "line 1, options before an OpenSSH public key: it is not supported"),
    ])
    func theLineThatIsNoneIsNamed(text: String, complaint: String?) throws {
        let text = utf8(text.replacing("%", with: try line(PrivateKey.generate(.ed25519).publicKey)))
        #expect(OpenSSHPublicKeys.areIn(text))
        var found: String?
        do throws(CryptoError) { _ = try OpenSSHPublicKeys.parse(text) } catch { found = "\(error)" }
        #expect(found == complaint)
    }

    @Test(arguments: ["", "\n", "nonsense", "ssh-ed25519", "# ssh-ed25519", "ssh-rsa key", "AAAA ssh-ed25519"])
    func otherTextHasNone(text: String) {
        #expect(!OpenSSHPublicKeys.areIn(utf8(text)))
    }

    @Test func aKindThatIsNotKnownIsSaid() throws {
        let kind = "sk-ssh-ed25519@openssh.com"
        let blob = Data([0, 0, 0, UInt8(kind.utf8.count)] + utf8(kind))
        #expect(throws: CryptoError(.unsupported, "")) {
            try OpenSSHPublicKeys.parse(utf8("\(kind) \(blob.base64EncodedString())"))
        }
    }

    @Test func noLineIsTooBrokenToBeRefused() throws {
        let good = utf8(try line(PrivateKey.generate(.ecP256).publicKey))
        for index in good.indices {
            var bytes = good
            bytes[index] ^= 1
            _ = try? OpenSSHPublicKeys.parse(bytes)
            _ = try? OpenSSHPublicKeys.parse(Array(good.prefix(index)))
        }
    }
}

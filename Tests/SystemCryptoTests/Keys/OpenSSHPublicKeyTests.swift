import Foundation
import SystemCrypto
import Testing
import TokenKit

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
        #expect(try PublicKey(openSSHLine: utf8(line(key, comment: comment))) == key)
    }

    @Test func anythingElseIsMalformed() throws {
        let good = try line(PrivateKey.generate(.ed25519).publicKey)
        let words = good.split(separator: " ").map(String.init)
        let texts = [
            "", " ", "ssh-ed25519", words[1], "ssh-rsa \(words[1])", "\(words[0]) \(words[1].dropLast(4))",
            "\(words[0]) \(words[1])AAAA", "\(words[0]) !\(words[1].dropFirst())", "\(words[0]) ====", "\(words[0]) A",
            "\(words[0]) AAAAC3NzaC1lZDI1NTE5/////w==", good + String(repeating: " ", count: 1 << 16),
        ]
        for text in texts {
            #expect(throws: CryptoError(.malformed, ""), "\(text.prefix(200))") {
                try PublicKey(openSSHLine: utf8(text))
            }
        }
    }

    @Test func aKindThatIsNotKnownIsSaid() throws {
        let kind = "sk-ssh-ed25519@openssh.com"
        let blob = Data([0, 0, 0, UInt8(kind.utf8.count)] + utf8(kind))
        #expect(throws: CryptoError(.unsupported, "")) {
            try PublicKey(openSSHLine: utf8("\(kind) \(blob.base64EncodedString())"))
        }
    }

    @Test func noLineIsTooBrokenToBeRefused() throws {
        let good = utf8(try line(PrivateKey.generate(.ecP256).publicKey))
        for index in good.indices {
            var bytes = good
            bytes[index] ^= 1
            _ = try? PublicKey(openSSHLine: bytes)
            _ = try? PublicKey(openSSHLine: Array(good.prefix(index)))
        }
    }
}

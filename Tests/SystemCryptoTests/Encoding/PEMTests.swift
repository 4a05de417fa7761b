import SystemCrypto
import Testing

@Suite struct PEMTests {
    @Test(arguments: [1, 2, 3, 47, 48, 49, 95, 96, 97, 1000])
    func bytesComeBack(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let text = PEM.encode(bytes, label: "THING")
        #expect(try PEM.blocks(labelled: "THING", in: utf8(text)) == [bytes])
        #expect(text.split(separator: "\n").allSatisfy { $0.utf8.count <= 64 })
        #expect(text.hasPrefix("-----BEGIN THING-----\n") && text.hasSuffix("\n-----END THING-----\n"))
        #expect(isPEM(text))
    }

    @Test func base64IsTheCommandsOwn() throws {
        let openssl = try OpenSSLCommand()
        let bytes = try RandomBytes.make(count: 100)
        try openssl.write(bytes, to: "in")
        let expected = try openssl.succeed("base64", "-in", "in")
        #expect(PEM.encode(bytes, label: "X") == "-----BEGIN X-----\n" + expected + "-----END X-----\n")
    }

    @Test func secretsHaveTheSameForm() {
        let text = PEM.encode(secret([1, 2, 3, 4]), label: "PRIVATE KEY")
        #expect(reveal(text) == utf8(PEM.encode([1, 2, 3, 4], label: "PRIVATE KEY")))
    }

    @Test func otherTextAndOtherBlocksArePassedOver() throws {
        let text =
            "Bag Attributes\n  x: y\n" + PEM.encode([1], label: "A") + "between\n" + PEM.encode([2], label: "B")
            + PEM.encode([3], label: "A") + "after"
        #expect(try PEM.blocks(labelled: "A", in: utf8(text)) == [[1], [3]])
        #expect(try PEM.blocks(labelled: "C", in: utf8(text)) == [])
        #expect(try PEM.blocks(labelled: "A", in: []) == [])
    }

    @Test func linesMayEndAsInWindows() throws {
        let text = PEM.encode([1, 2, 3], label: "A").split(separator: "\n").joined(separator: "\r\n") + "\r\n"
        #expect(try PEM.blocks(labelled: "A", in: utf8(text)) == [[1, 2, 3]])
    }

    @Test(arguments: [
        "-----BEGIN A-----\n", "-----BEGIN A-----\nAQID\n", "-----BEGIN A-----\n!!!!\n-----END A-----\n",
        "-----BEGIN A-----\nAQID\n-----END B-----\n",
    ])
    func damagedBlocksAreMalformed(text: String) {
        #expect(throws: CryptoError(.malformed, "")) { try PEM.blocks(labelled: "A", in: utf8(text)) }
    }

    @Test func binaryIsNotPEM() {
        #expect(!isPEM(""))
        #expect(!isPEM("0\u{01}"))
        #expect(!isPEM("-----BEGIN"))
        #expect(isPEM("text first\n-----BEGIN X-----"))
    }

    private func isPEM(_ text: String) -> Bool {
        let bytes = utf8(text)
        return PEM.isPEM(bytes.span)
    }
}

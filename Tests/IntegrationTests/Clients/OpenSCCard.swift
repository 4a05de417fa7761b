import Foundation
import SecureBytes
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

/// A card that `piv-tool` has given keys and certificates to.
struct OpenSCCard {
    let card: ClientCard

    /// The PKCS#11 object identifier of each key, by its reference.
    static let identifiers = ["9A": "01", "9C": "02", "9D": "03", "9E": "04"]

    /// - Parameter keys: The algorithm identifier of each key's reference, both as `piv-tool` takes them.
    init(_ profile: CardProfile = .generic, keys: KeyValuePairs<String, String>) throws {
        card = try ClientCard(profile)
        try setManagementKey(String(repeating: "0102030405060708", count: 3))
        for (reference, algorithm) in keys {
            try generate(reference, algorithm)
            let certificate = try card.certificate(for: publicKey(reference), named: "Key \(reference)")
            try administer(["--cert", reference, "--in", certificate])
        }
    }

    /// The file with a key's public half.
    func publicKey(_ reference: String) -> String { card.folder.path("\(reference).pub") }

    /// Takes another management key, in hexadecimal digits, into the file that `piv-tool` has it from.
    func setManagementKey(_ digits: String) throws {
        let octets = try #require(Hex.decode(digits)).map { Hex.encode([$0]) }
        try card.folder.write("management-key", octets.joined(separator: ":"))
    }

    /// Runs `piv-tool` after authentication with the management key. Its exit status says nothing: after a certificate it is
    /// the number of bytes written.
    ///
    /// - Parameter administrator: The management key, as `piv-tool` names it: "M" or "A", its reference and its cipher.
    @discardableResult
    func administer(
        _ arguments: [String], as administrator: String = "M:9B:03", trace: Int = 0
    ) throws -> String {
        let variables = ["PIV_EXT_AUTH_KEY=\(card.folder.path("management-key"))", "OPENSC_DEBUG=\(trace)"]
        return try card.holder.run(["env"] + variables + ["piv-tool", "--admin", administrator] + arguments).description
    }

    /// Has the card generate a key. OpenSC 0.23 with OpenSSL 3 fails to write the public key of the card's answer, which is
    /// taken from its trace instead.
    func generate(_ reference: String, _ algorithm: String, as administrator: String = "M:9B:03") throws {
        let trace = try administer(["--genkey", "\(reference):\(algorithm)"], as: administrator, trace: 3)
        let answer = try #require(Self.answer(to: "00 47 00", in: trace), "\(trace)")
        let template = try TLVReader.only(0x7F49, in: answer)
        var reader = try template.children()
        let key: PublicKey
        if let point = try reader.next(0x86) {
            key = try PublicKey(ecPoint: point.value, curve: point.value.count == 65 ? .ecP256 : .ecP384)
        } else {
            key = try PublicKey(rsaModulus: reader.require(0x81).value, exponent: reader.require(0x82).value)
        }
        try card.folder.write("\(reference).der", key.spki)
        try card.openssl([
            "pkey", "-pubin", "-inform", "der", "-in", card.folder.path("\(reference).der"), "-out",
            publicKey(reference),
        ])
    }

    /// The data of the answer to a command in OpenSC's trace, its continuations included.
    private static func answer(to command: String, in trace: String) -> [UInt8]? {
        guard let start = trace.range(of: "\n\(command)")?.upperBound else { return nil }
        return trace[start...].components(separatedBy: "Incoming APDU").dropFirst().reduce([]) { answer, section in
            let rows = section.split(separator: "\n").dropFirst().prefix {
                $0.wholeMatch(of: /(?:[0-9A-F]{2} ){1,16}.*/) != nil
            }
            return answer
                + rows.flatMap { row in
                    row.prefix(48).split(separator: " ").prefix(16).compactMap { UInt8($0, radix: 16) }
                }.dropLast(2)
        }
    }
}

internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes

struct ErrorText: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "error", abstract: "Show what error codes mean, in decimal or hexadecimal digits.")

    @Argument(parsing: .allUnrecognized, help: "The codes, as -25300 or 0xFFFF9D2C.")
    var codes: [String]

    @OptionGroup var output: OutputOptions

    private struct Meaning: Encodable {
        let code: Int32
        let hex: String
        let name: String?
        let message: LocalizedText
    }

    func run() throws {
        let meanings = try codes.map { try meaning(of: $0) }
        guard !output.json else { return try Listing.showJSON(meanings) }
        for meaning in meanings {
            StandardOutput.line(
                "Error: 0x\(meaning.hex) \(meaning.code) \(meaning.name.map { "\($0): " } ?? "")\(meaning.message)")
        }
    }

    private func meaning(of text: String) throws -> Meaning {
        guard let code = ErrorText.parse(text) else {
            throw CommandError("'\(text)' is not an error code", advice: "write it as -25300 or 0xFFFF9D2C")
        }
        let error = ErrSec(rawValue: code)
        return Meaning(code: code, hex: Hex.encode(code.bigEndianBytes), name: error.name, message: error.text)
    }

    /// Parses a signed decimal number, or the 32 bits of one as hexadecimal digits after `0x`.
    private static func parse(_ text: String) -> Int32? {
        guard text.lowercased().hasPrefix("0x") else { return Int32(text) }
        return UInt32(text.dropFirst(2), radix: 16).map { Int32(bitPattern: $0) }
    }
}

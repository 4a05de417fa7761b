internal import Glibc
internal import KeychainModel
internal import Localization
internal import SecureBytes

/// The choice of one entry of a list by a person at the terminal: with fzf where it is installed, else by number.
enum Choice {
    /// Whether a person can be asked.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && StandardError.isInteractive }

    /// - Parameters:
    ///   - lines: the entries.
    ///   - question: what the number is asked for.
    /// - Returns: the index of the chosen entry.
    /// - Throws: `errSecUserCanceled` where none was chosen.
    static func among(_ lines: [String], _ question: LocalizedText) throws -> Int {
        let numbered = lines.enumerated().map { "\($0.offset + 1)\t\(DisplayText.line($0.element))" }
        let answer: String
        if let finder = HelperProgram("fzf") {
            let (status, output) = try finder.run(
                ["--delimiter=\t", "--with-nth=2..", "--no-multi", "--height=~50%", "--prompt=\(question): "],
                sending: numbered.map { $0 + "\n" }.joined(), limit: 64 << 10)
            guard status == 0 else { throw KeychainError(.userCanceled) }
            answer = String(decoding: output.prefix { $0 != UInt8(ascii: "\t") }, as: UTF8.self)
        } else {
            for line in numbered { StandardError.line(line.replacing("\t", with: ") ")) }
            StandardError.prompt("\(String(localized: "\(question) (number):")) ")
            answer = StandardInput.line().map { String(decoding: $0.bytes, as: UTF8.self) } ?? ""
        }
        guard !answer.isEmpty else { throw KeychainError(.userCanceled) }
        guard let number = Int(answer), lines.indices.contains(number - 1) else {
            throw CommandError("there is no number '\(DisplayText.line(answer))' in the list")
        }
        return number - 1
    }
}

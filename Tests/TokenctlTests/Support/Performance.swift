import Foundation
import TestSupport

/// The run of a transcript on its stage.
struct Performance {
    private let transcript: Transcript
    private let stage: Stage

    init(script name: String) throws {
        let text = try String(contentsOfFile: "\(Stage.scripts)/\(name).txt", encoding: .utf8)
        transcript = try Transcript(text)
        stage = try Stage(transcript.stage)
    }

    /// Runs the transcript up to the first step with another result, and describes that; nil if there is none.
    func play() throws -> String? {
        for step in transcript.steps {
            let result = try stage.run(step.command)
            if let complaint = complaint(about: result, of: step) {
                return "line \(step.line): \(step.command)\n\(complaint)\n\(result)"
            }
        }
        return try leak(inFilesOf: stage.folder.url)
    }

    private func complaint(about result: ProgramResult, of step: Transcript.Step) -> String? {
        let errors = String(decoding: result.errors, as: UTF8.self)
        if result.status != step.status { return "should have ended with \(step.status)" }
        if !Pattern.matches(step.output, Performance.lines(result.text)) { return "has another output" }
        if !Pattern.matches(step.errors, Performance.lines(errors)) { return "has other errors" }
        for secret in transcript.secrets where !step.output.contains(where: { $0.contains(secret) }) {
            if Performance.holds(result.output, secret) { return "prints the secret '\(secret)'" }
        }
        for secret in transcript.secrets where !step.errors.contains(where: { $0.contains(secret) }) {
            if Performance.holds(result.errors, secret) { return "complains with the secret '\(secret)'" }
        }
        return nil
    }

    /// Describes a secret in a file that the command left in its home, or in a trace; nil for none.
    private func leak(inFilesOf folder: URL) throws -> String? {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        while let file = files?.nextObject() as? URL {
            guard file.path().contains("/home/") || file.pathExtension == "trace",
                let bytes = try? Data(contentsOf: file)
            else { continue }
            for secret in transcript.secrets where Performance.holds(Array(bytes), secret) {
                return "'\(file.lastPathComponent)' holds the secret '\(secret)'"
            }
        }
        return nil
    }

    private static func lines(_ text: String) -> [String] {
        var lines = text.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
        while lines.last == "" { lines.removeLast() }
        return lines.map(String.init)
    }

    /// Whether the bytes hold the secret, as it is or in hexadecimal digits.
    private static func holds(_ bytes: [UInt8], _ secret: String) -> Bool {
        let hex = secret.utf8.map { String($0, radix: 16, uppercase: true) }.joined()
        if [hex, hex.lowercased()].contains(where: { !bytes.ranges(of: Array($0.utf8)).isEmpty }) { return true }
        // A PIN's digits may occur among the hexadecimal digits of another value, such as a signature.
        return bytes.ranges(of: Array(secret.utf8)).contains { range in
            !(isHexDigit(bytes[..<range.lowerBound].last) && isHexDigit(bytes[range.upperBound...].first))
        }
    }

    private static func isHexDigit(_ byte: UInt8?) -> Bool {
        byte.map { Character(UnicodeScalar($0)).isHexDigit } ?? false
    }
}

internal import FoundationEssentials
internal import SecureBytes

/// Secrets in JSON. Placeholders stand for them until it is printed.
struct JSONSecrets {
    private let mark = UUID().uuidString
    private var secrets: [SharedSecret] = []

    /// The text that takes a secret's place in a value that is encoded.
    ///
    /// - Parameter text: the secret, with the escapes of a JSON string.
    mutating func placeholder(for text: consuming Secret) -> String {
        secrets.append(SharedSecret(text))
        return "\(mark)\(secrets.count - 1)\(mark)"
    }

    /// Prints JSON with each secret in its place.
    func show(_ json: String) throws {
        // Every second part, between two marks, is the number of a secret.
        for (index, part) in json.split(separator: mark, omittingEmptySubsequences: false).enumerated() {
            if index.isMultiple(of: 2) {
                StandardOutput.json(String(part), terminator: "")
            } else if let number = Int(part), secrets.indices.contains(number) {
                try StandardOutput.write(secrets[number].secret)
            }
        }
        StandardOutput.line()
    }
}

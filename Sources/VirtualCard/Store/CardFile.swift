internal import SystemCrypto
internal import TokenKit

/// The file of a virtual card: a line with its type, the card's content, and their SHA-256.
///
/// It has keys and PINs in the clear, so that only its owner can read it.
struct CardFile: Sendable {
    /// The maximum length of a file in bytes, more than a card with full objects has.
    private static let maximumLength = 4 << 20
    private static let heading = Array("tokenkit virtual card 1\n".utf8)
    private static let digest = DigestAlgorithm.sha256

    let path: String

    /// Replaces the file, so that it has either the old or the new content, whatever happens.
    func save(_ contents: CardContents, of profile: CardProfile) throws(VirtualCardError) {
        let body: [UInt8]
        do {
            body = CardFile.heading + (try contents.encoded(of: profile.name))
        } catch {
            throw VirtualCardError(.unwritable, "cannot write \(path): \(error)")
        }
        try FileSystem.replace(path, with: body + CardFile.checksum(body))
    }

    func load() throws(VirtualCardError) -> (profile: CardProfile, contents: CardContents) {
        let bytes = try FileSystem.read(path, limit: CardFile.maximumLength)
        let body = Array(bytes.dropLast(CardFile.digest.byteCount))
        guard body.starts(with: CardFile.heading) else { throw corrupt("it is not a virtual card's") }
        guard try CardFile.checksum(body) == bytes.suffix(CardFile.digest.byteCount) else {
            throw corrupt("its checksum does not match")
        }
        var name = ""
        let contents: CardContents
        do {
            contents = try CardContents(parsing: Array(body.dropFirst(CardFile.heading.count)), profile: &name)
        } catch {
            throw corrupt("\(error)")
        }
        guard let profile = CardProfile.named(name) else {
            throw VirtualCardError(
                .unknownProfile, "the card in \(path) is a \(name), which this version does not know")
        }
        return (profile, contents)
    }

    private func corrupt(_ reason: String) -> VirtualCardError {
        VirtualCardError(.corrupt, "\(path) cannot be used: \(reason)")
    }

    private static func checksum(_ body: [UInt8]) throws(VirtualCardError) -> [UInt8] {
        do {
            return try Digest.hash(body, using: digest)
        } catch {
            throw VirtualCardError(.unsupported, "SHA-256 is not available: \(error)")
        }
    }
}

internal import Glibc

/// The translations of one language: a file that `msgfmt` has made, the .mo format of GNU gettext, gettext(info) "MO Files".
///
/// glibc's own functions are not used: with them one variable chooses the language of a whole process, and the host has clients in several.
final class Catalogue: Sendable {
    private static let maximumLength = 1 << 22
    private static let magic: UInt32 = 0x9504_12DE

    private let bytes: [UInt8]
    private let isBigEndian: Bool
    private let count: Int
    private let keys: Int
    private let texts: Int
    private let forms: PluralForms

    /// - Returns: nil where there is no such file, or it is not a catalogue.
    convenience init?(path: String) {
        guard let bytes = Catalogue.content(of: path) else { return nil }
        self.init(bytes)
    }

    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard let magic = Catalogue.word(bytes, 0, false) else { return nil }
        guard magic == Catalogue.magic || magic.byteSwapped == Catalogue.magic else { return nil }
        isBigEndian = magic != Catalogue.magic
        guard let version = Catalogue.word(bytes, 4, isBigEndian), version >> 16 < 2,
            let count = Catalogue.word(bytes, 8, isBigEndian), let keys = Catalogue.word(bytes, 12, isBigEndian),
            let texts = Catalogue.word(bytes, 16, isBigEndian), Int(count) <= bytes.count / 16
        else { return nil }
        (self.count, self.keys, self.texts) = (Int(count), Int(keys), Int(texts))
        // The translation of the empty text is the header.
        let header = Catalogue.string(bytes, Int(texts), isBigEndian).map { String(decoding: $0, as: UTF8.self) }
        forms = header.flatMap(PluralForms.init(header:)) ?? PluralForms()
    }

    func translation(of key: String) -> String? {
        entry(key).flatMap { $0.isEmpty ? nil : text($0.prefix { $0 != 0 }) }
    }

    /// The translation for a number.
    func translation(of key: String, count: Int) -> String? {
        guard let entry = entry(key) else { return nil }
        let parts = entry.split(separator: 0, omittingEmptySubsequences: false)
        let index = forms.index(of: count)
        return parts.indices.contains(index) ? text(parts[index]) : nil
    }

    private func text(_ bytes: ArraySlice<UInt8>) -> String? {
        bytes.isEmpty ? nil : String(validating: bytes, as: UTF8.self)
    }

    /// Looks a key up: keys are sorted by their bytes.
    private func entry(_ key: String) -> ArraySlice<UInt8>? {
        guard !key.isEmpty else { return nil }
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            guard let found = Catalogue.string(bytes, keys + 8 * middle, isBigEndian) else { return nil }
            // The plural of a text follows its key after a zero byte.
            switch Catalogue.order(key.utf8, found) {
            case 0: return Catalogue.string(bytes, texts + 8 * middle, isBigEndian)
            case ..<0: high = middle
            default: low = middle + 1
            }
        }
        return nil
    }

    private static func order(_ key: String.UTF8View, _ found: ArraySlice<UInt8>) -> Int {
        var index = found.startIndex
        for byte in key {
            guard index < found.endIndex, found[index] != 0 else { return 1 }
            if byte != found[index] { return byte < found[index] ? -1 : 1 }
            index += 1
        }
        return index == found.endIndex || found[index] == 0 ? 0 : -1
    }

    /// The string that a pair of length and offset describes.
    private static func string(_ bytes: [UInt8], _ pair: Int, _ isBigEndian: Bool) -> ArraySlice<UInt8>? {
        guard let length = word(bytes, pair, isBigEndian), let offset = word(bytes, pair + 4, isBigEndian) else {
            return nil
        }
        let (start, end) = (Int(offset), Int(offset) + Int(length))
        return end <= bytes.count ? bytes[start..<end] : nil
    }

    private static func word(_ bytes: [UInt8], _ offset: Int, _ isBigEndian: Bool) -> UInt32? {
        guard offset >= 0, offset + 4 <= bytes.count else { return nil }
        let word = bytes[offset..<offset + 4].reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        return isBigEndian ? word.byteSwapped : word
    }

    private static func content(of path: String) -> [UInt8]? {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            28...maximumLength ~= Int(status.st_size)
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeMutableBytes { bytes in
                unsafe read(file, bytes.baseAddress?.advanced(by: done), bytes.count - done)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            done += count
        }
        return bytes
    }
}

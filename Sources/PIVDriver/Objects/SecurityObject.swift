internal import SecureBytes
package import TokenKit

/// The Security Object: signed digests of other objects. SP 800-73-5 part 1 §3.1.7 and table 12.
///
///     BA container map, three bytes a container · BB signed data · FE
package struct SecurityObject: Hashable, Sendable {
    /// The number under which a container's digest stands in the signed data.
    package struct Entry: Hashable, Sendable {
        package let number: UInt8
        package let containerID: UInt16
    }

    package let entries: [Entry]

    /// CMS signed data of an LDS security object (ICAO 9303).
    package let signedData: [UInt8]

    package init(parsing content: [UInt8]) throws(TokenError) {
        let fields = try PIVFormat.parsing("Security Object") { () throws(TLVError) in
            var reader = TLVReader(content)
            return try reader.fields()
        }
        let map = fields[0xBA] ?? []
        guard map.count.isMultiple(of: 3) else {
            throw PIVFormat.malformed("Security Object", "\(TLVError(.wrongLength, tag: 0xBA))")
        }
        entries = stride(from: 0, to: map.count, by: 3).map { start in
            Entry(number: map[start], containerID: UInt16(bigEndianBytes: map[start + 1...start + 2]))
        }
        signedData = fields[0xBB] ?? []
    }
}

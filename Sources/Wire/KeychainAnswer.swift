/// An item as the library's references name it.
package struct KeychainItem: Equatable {
    /// The path of the item's keychain.
    package var keychain: [UInt8]
    /// The item's persistent reference.
    package var reference: [UInt8]

    package init(keychain: [UInt8], reference: [UInt8]) {
        self.keychain = keychain
        self.reference = reference
    }
}

/// The result code and the results of a function of SecKeychain.h. A password is the secret of the answer's message.
package struct KeychainAnswer: Equatable {
    /// An `OSStatus`.
    package var code: Int32
    /// The reason of a failure, where the client wants notes; else empty.
    package var reason: [UInt8]
    /// Lines for the client's log about gaps in the answer, where the client wants them.
    package var notes: [[UInt8]]
    /// The path of a keychain; empty where the function has none.
    package var path: [UInt8]
    /// The class of an item, or the status of a keychain.
    package var number: UInt64
    package var items: [KeychainItem]
    /// The wanted attributes, in the order of the call.
    package var attributes: [KeychainAttribute]
    /// The programs that may read an item without a question; nil where the function does not tell them.
    package var programs: [KeychainProgram]?

    /// Bytes that the fields of an answer may have, in several frames: a search may find many items.
    package static let maximumFields = 32 << 20

    package init(
        code: Int32 = 0, reason: [UInt8] = [], notes: [[UInt8]] = [], path: [UInt8] = [], number: UInt64 = 0,
        items: [KeychainItem] = [], attributes: [KeychainAttribute] = [], programs: [KeychainProgram]? = nil
    ) {
        self.code = code
        self.reason = reason
        self.notes = notes
        self.path = path
        self.number = number
        self.items = items
        self.attributes = attributes
        self.programs = programs
    }

    package init(parsing bytes: [UInt8]) throws(WireError) {
        var reader = FieldReader(bytes)
        guard let code = UInt32(exactly: try reader.number()) else { throw .malformed }
        self.code = Int32(bitPattern: code)
        reason = try reader.byteString()
        notes = []
        for _ in 0..<(try reader.count(ofElementsWith: 4)) { notes.append(try reader.byteString()) }
        path = try reader.byteString()
        number = try reader.number()
        items = []
        for _ in 0..<(try reader.count(ofElementsWith: 8)) {
            items.append(KeychainItem(keychain: try reader.byteString(), reference: try reader.byteString()))
        }
        attributes = try KeychainAttribute.list(from: &reader)
        programs = reader.isAtEnd ? nil : try KeychainProgram.list(from: &reader)
        try reader.finish()
    }

    package func encoded() -> [UInt8] {
        var writer = FieldWriter()
        writer.append(UInt64(UInt32(bitPattern: code)))
        writer.append(reason)
        writer.append(count: notes.count)
        for note in notes { writer.append(note) }
        writer.append(path)
        writer.append(number)
        writer.append(count: items.count)
        for item in items {
            writer.append(item.keychain)
            writer.append(item.reference)
        }
        KeychainAttribute.write(attributes, to: &writer)
        // Clients of before this field read answers without it.
        if let programs { KeychainProgram.write(programs, to: &writer) }
        return writer.bytes
    }
}

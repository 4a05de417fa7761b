/// The return value and the results of a PKCS #11 function. Output data and the values of attributes are the secrets of its message.
package struct PKCS11Answer: Equatable {
    /// A `CK_RV`.
    package var returnValue: UInt64
    /// Lines for the client's log, where the client wants them: events during the call, and last the meaning of the return value.
    package var notes: [[UInt8]]
    /// Handles, flags and sizes.
    package var numbers: [UInt64]
    /// Text fields of a structure, one after the other, each padded with blanks; for `C_GetAttributeValue`, the object's
    /// attributes that are not secret, each after its type and length.
    package var text: [UInt8]

    package init(_ returnValue: UInt64, numbers: [UInt64] = [], text: [UInt8] = [], notes: [[UInt8]] = []) {
        self.returnValue = returnValue
        self.notes = notes
        self.numbers = numbers
        self.text = text
    }

    package init(parsing bytes: [UInt8]) throws(WireError) {
        var reader = FieldReader(bytes)
        returnValue = try reader.number()
        notes = []
        for _ in 0..<(try reader.count(ofElementsWith: 4)) { notes.append(try reader.byteString()) }
        numbers = try reader.numbers()
        text = try reader.byteString()
        try reader.finish()
    }

    package func encoded() -> [UInt8] {
        var writer = FieldWriter()
        writer.append(returnValue)
        writer.append(count: notes.count)
        for note in notes { writer.append(note) }
        writer.append(numbers)
        writer.append(text)
        return writer.bytes
    }
}

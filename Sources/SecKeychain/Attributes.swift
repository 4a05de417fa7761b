internal import KeychainModel
internal import CSecKeychain
internal import KeychainCalls

extension SecKeychainAttribute {
    var name: Attribute { unsafe Attribute(tag: tag) }

    /// The attribute's value in an item of the class.
    ///
    /// - Throws: `errSecNoSuchAttr`; `errSecParam` for data that are not a value of the attribute.
    func value(in itemClass: ItemClass) throws(KeychainError) -> AttributeValue {
        try unsafe itemClass.value(ofTag: tag, data, length: length)
    }

    /// Copies the value of an item. An absent value empties the field.
    mutating func fill(from item: Item) throws(KeychainError) {
        (unsafe length, unsafe data) = (0, nil)
        guard let bytes = unsafe item.data(of: name) else { return }
        unsafe data = try CallerMemory.copy(bytes.span)
        unsafe length = UInt32(clamping: bytes.count)
    }

    mutating func clear() {
        unsafe CallerMemory.free(data)
        (unsafe length, unsafe data) = (0, nil)
    }
}

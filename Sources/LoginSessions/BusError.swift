/// A failure of a message bus, or a message with other contents than expected.
struct BusError: Error {
    /// The number of errno(3).
    let code: Int32

    /// - Parameter result: the result of a function of sd-bus.
    /// - Returns: the result, which is no failure.
    @discardableResult
    static func check(_ result: Int32) throws(BusError) -> Int32 {
        guard result >= 0 else { throw BusError(code: -result) }
        return result
    }
}

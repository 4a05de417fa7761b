internal import CThinClient

/// The program's ``HostVariables``. Empty where the program has more rights than its user.
struct ClientEnvironment {
    /// Each as `NAME=value`.
    private(set) var variables: [[UInt8]] = []

    init() {
        guard tokenkit_is_privileged() == 0, var next = unsafe tokenkit_environment() else { return }
        while let variable = unsafe next.pointee {
            unsafe next += 1
            let text = unsafe [UInt8](text: variable)
            if HostVariables.includes(text) { variables.append(text) }
        }
    }

    /// Runs `body` with the variables as `execve` takes them.
    mutating func withPointers<Result>(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Result
    ) -> Result {
        var text: [UInt8] = []
        var offsets: [Int] = []
        for variable in variables {
            offsets.append(text.count)
            text += variable
            text.append(0)
        }
        // An array has a header before its elements: valgrind, which sees pointers to the elements alone, reports it as lost.
        let pointers = UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: offsets.count + 1)
        defer { unsafe pointers.deallocate() }
        return unsafe text.withUnsafeMutableBytes { text in
            for (index, offset) in offsets.enumerated() {
                unsafe pointers[index] = text.baseAddress.map {
                    unsafe ($0 + offset).assumingMemoryBound(to: CChar.self)
                }
            }
            unsafe pointers[offsets.count] = nil
            return unsafe body(pointers.baseAddress)
        }
    }
}

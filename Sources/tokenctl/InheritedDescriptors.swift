internal import Glibc

/// The file descriptors that the program was started with. A descriptor in an argument must be one of them: any other may
/// be a card's connection or a keychain that the program has opened since.
enum InheritedDescriptors {
    private static let numbers = current()

    /// Records the open descriptors; to be called before anything is opened.
    static func note() { _ = numbers }

    static func contains(_ descriptor: Int32) -> Bool { numbers.contains(descriptor) }

    // An array: the first set of a type has Swift search for its conformances, in each start of the command.
    private static func current() -> [Int32] {
        guard let folder = unsafe opendir("/proc/self/fd") else { return [] }
        defer { unsafe closedir(folder) }
        let own = unsafe dirfd(folder)
        var numbers: [Int32] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if let number = Int32(name), number != own { numbers.append(number) }
        }
        return numbers
    }
}

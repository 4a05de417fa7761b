internal import Glibc

/// The system's record of a user, by number.
public struct User: Sendable {
    public let number: UInt32

    public init(_ number: UInt32) {
        self.number = number
    }

    /// The user whose rights this process has.
    public static var effective: User { User(geteuid()) }

    /// The name; nil where the number is in no user database.
    public var name: String? { entry.name }

    /// The home folder in the user database; nil for an unknown number.
    public var home: String? { entry.home }

    /// Wraps `getpwuid_r`.
    private var entry: (name: String?, home: String?) {
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 1024)
        while unsafe getpwuid_r(number, &entry, &buffer, buffer.count, &found) == ERANGE, buffer.count < 1 << 20 {
            buffer = [CChar](repeating: 0, count: 2 * buffer.count)
        }
        // The texts are in the buffer.
        return withExtendedLifetime(buffer) {
            guard let entry = unsafe found?.pointee else { return (nil, nil) }
            return unsafe (
                entry.pw_name.flatMap { unsafe String(validatingCString: $0) },
                entry.pw_dir.flatMap { unsafe String(validatingCString: $0) }
            )
        }
    }

    /// The name, or the number of a user without one.
    public var text: String { name ?? "the user with number \(number)" }

    /// Whether the number is that of the overflow user, which stands for every user without a number in this process's namespace,
    /// possibly the machine's root. user_namespaces(7).
    public var isUnmapped: Bool {
        guard number == Self.overflow, let map = KernelFile.text("/proc/self/uid_map") else { return false }
        return !map.split(whereSeparator: \.isNewline).contains { line in
            let numbers = line.split(separator: " ").compactMap { UInt64($0) }
            return numbers.count == 3 && numbers[0] <= number && UInt64(number) - numbers[0] < numbers[2]
        }
    }

    private static var overflow: UInt32 {
        KernelFile.text("/proc/sys/kernel/overflowuid").flatMap { UInt32($0.prefix(while: \.isNumber)) } ?? 65_534
    }
}

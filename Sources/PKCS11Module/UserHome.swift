internal import CThinClient

/// The home folder of the user whose rights the program has, in `/etc/passwd`.
///
/// `getpwuid_r` would load the libraries of the system's other user databases into the program, and may ask a server.
enum UserHome {
    /// Nil where the file has no line for the user.
    static var path: [UInt8]? {
        let descriptor = tokenkit_open_users()
        guard descriptor >= 0 else { return nil }
        defer { _ = close(descriptor) }
        var search = Search(of: UInt64(geteuid()))
        var block = [UInt8](repeating: 0, count: 1024)
        while true {
            let count = unsafe block.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return nil }
            for byte in block.prefix(count) {
                if let home = search.take(byte) { return home }
            }
        }
    }

    /// A search through lines of the form `name:password:uid:gid:comment:home:shell`. passwd(5).
    private struct Search {
        private let user: UInt64
        private var field = 0
        /// The user's number on this line, from digits alone; nil where it is none.
        private var number: UInt64?
        private var home: [UInt8] = []

        init(of user: UInt64) {
            self.user = user
        }

        /// Takes the file's next byte.
        ///
        /// - Returns: the home folder, at the end of its field on the user's line.
        mutating func take(_ byte: UInt8) -> [UInt8]? {
            let isEnd = byte == 0x3A || byte == 0x0A
            if isEnd, field == 5, number == user { return home.first == 0x2F ? home : [0x2F] }
            if byte == 0x0A {
                (field, number) = (0, nil)
                home.removeAll(keepingCapacity: true)
            } else if isEnd {
                field += 1
            } else if field == 2 {
                number = 0x30...0x39 ~= byte ? sum(number ?? 0, byte) : .max
            } else if field == 5, home.count < 4096 {
                home.append(byte)
            }
            return nil
        }

        private func sum(_ number: UInt64, _ digit: UInt8) -> UInt64 {
            number > UInt64(UInt32.max) ? .max : 10 * number + UInt64(digit - 0x30)
        }
    }
}

internal import Glibc
internal import KeychainStore
internal import Platform
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto

/// The times of notices that are not to be repeated for a while: an empty file for each in a folder of the user's cache, named by a SHA-256.
///
/// Without the folder, every notice is due.
struct NoticeMemory: Sendable {
    /// The most notices that are remembered, and the time of each in seconds.
    private static let maximumCount = 256
    static let longestPeriod: Int64 = 7 * 24 * 3600

    private let folder: String
    /// Taken for a look and a record, which belong together.
    private static let turn = Mutex(())

    /// - Parameter cache: the folder of the user's cache.
    init(in cache: String) { folder = cache + "/notices" }

    /// Whether a notice was not shown for a period. Records it as shown.
    ///
    /// - Parameters:
    ///   - subject: what the notice is about.
    ///   - period: in seconds, at most ``longestPeriod``.
    ///   - now: in seconds since 1970.
    func isDue(_ subject: [UInt8], after period: Int64, now: Int64) -> Bool {
        guard let digest = try? Digest.hash(subject, using: .sha256), (try? Folder(path: folder).make()) != nil,
            OwnFile.isOwnFolder(folder)
        else { return true }
        return NoticeMemory.turn.withLock { _ in isDue("\(folder)/\(Hex.encode(digest))", period, now) }
    }

    private func isDue(_ path: String, _ period: Int64, _ now: Int64) -> Bool {
        // A time in the future is that of a clock that was wrong.
        if let shown = NoticeMemory.time(of: path) {
            if 0..<period ~= now - shown { return false }
            _ = unsafe unlink(path)
        }
        forgetOld(now)
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return errno != EEXIST }
        defer { close(file) }
        let time = timespec(tv_sec: Int(now), tv_nsec: 0)
        _ = unsafe [time, time].withUnsafeBufferPointer { unsafe futimens(file, $0.baseAddress) }
        return true
    }

    /// Forgets what is due in any case, and everything where there is too much.
    private func forgetOld(_ now: Int64) {
        let names = OwnFile.names(in: folder, limit: NoticeMemory.maximumCount)
        let isFull = names.count == NoticeMemory.maximumCount
        for path in names.map({ "\(folder)/\($0)" }) {
            let isOld = NoticeMemory.time(of: path).map { !(0..<NoticeMemory.longestPeriod ~= now - $0) } ?? false
            if isFull || isOld { _ = unsafe unlink(path) }
        }
    }

    private static func time(of path: String) -> Int64? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? Int64(status.st_mtim.tv_sec) : nil
    }
}

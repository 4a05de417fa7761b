internal import FoundationEssentials
internal import Glibc
internal import SecureBytes
internal import SystemCrypto

/// The texts that were shown in the last 24 hours: a file for each in a folder of the cache, named by its SHA-256.
/// Without the folder every text is shown.
struct DailyNotices {
    private static let period: Int = 24 * 60 * 60

    private let folder: String

    /// - Parameter cache: the folder of the user's cache.
    init(in cache: String) {
        folder = cache + "/told"
    }

    /// Whether a text was not shown in the last 24 hours. Records it as shown.
    func isDue(_ text: String) -> Bool {
        guard let digest = try? Digest.hash(Array(text.utf8), using: .sha256) else { return true }
        let path = "\(folder)/\(Hex.encode(digest))"
        var status = stat()
        // Not time(2), which may be a tick behind the times of files.
        var clock = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &clock)
        let now = clock.tv_sec
        // A time in the future is that of a clock that was wrong.
        if unsafe lstat(path, &status) == 0, (0..<DailyNotices.period).contains(now - status.st_mtim.tv_sec) {
            return false
        }
        forgetOld(now)
        note(path)
        return true
    }

    private func note(_ path: String) {
        try? FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard file >= 0 else { return }
        _ = futimens(file, nil)
        close(file)
    }

    private func forgetOld(_ now: Int) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            var status = stat()
            let path = "\(folder)/\(name)"
            guard unsafe lstat(path, &status) == 0, now - status.st_mtim.tv_sec >= DailyNotices.period else { continue }
            unsafe unlink(path)
        }
    }
}

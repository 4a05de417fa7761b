internal import Glibc

/// A view of the file system other than this process's, in which a program runs.
///
/// It is told to people. A program of the same user can make itself a view that looks like that of any application, so that no decision
/// may depend on the name alone.
package enum ProgramContainer: Hashable, Sendable {
    /// An application of Flatpak, by its id.
    case flatpak(String)
    /// A snap, by its name.
    case snap(String)
    /// Another mount namespace or root folder, of no known kind.
    case other

    /// - Returns: nil for a process that sees this process's file system, in no sandbox.
    init?(of process: Int32) {
        switch ProgramContainer.flatpakInformation(of: process) {
        case .some(let text): self = ProgramContainer.application(in: text).map(ProgramContainer.flatpak) ?? .other
        case nil:
            if let snap = ProgramContainer.snap(of: process) {
                self = .snap(snap)
            } else if ["ns/mnt", "root"].contains(where: { ProgramContainer.differs($0, in: process) }) {
                self = .other
            } else {
                return nil
            }
        }
    }

    /// Whether a link of the process leads elsewhere than this process's.
    private static func differs(_ link: String, in process: Int32) -> Bool {
        var (theirs, own) = (stat(), stat())
        guard unsafe stat("/proc/\(process)/\(link)", &theirs) == 0, unsafe stat("/proc/self/\(link)", &own) == 0 else {
            return true
        }
        return (theirs.st_dev, theirs.st_ino) != (own.st_dev, own.st_ino)
    }

    // MARK: Flatpak

    /// The text of `.flatpak-info` in the process's root folder; nil without such a file.
    private static func flatpakInformation(of process: Int32) -> String? {
        let path = "/proc/\(process)/root/.flatpak-info"
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return "" }
        let bytes = (try? Descriptor.read(file, limit: 64 << 10)) ?? []
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The application's id in the text of `.flatpak-info`, flatpak-metadata(5).
    static func application(in text: String) -> String? {
        var isInGroup = false
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("[") {
                isInGroup = line == "[Application]"
            } else if isInGroup, line.hasPrefix("name=") {
                return name(line.dropFirst("name=".count), allowing: ".-_")
            }
        }
        return nil
    }

    // MARK: Snap

    /// By AppArmor's label, else by the control group, `snap.NAME.APPLICATION-….scope`.
    private static func snap(of process: Int32) -> String? {
        if let label = KernelFile.text("/proc/\(process)/attr/current"), let snap = snap(inLabel: label) { return snap }
        guard let groups = KernelFile.text("/proc/\(process)/cgroup") else { return nil }
        return snap(inGroups: groups)
    }

    static func snap(inLabel label: String) -> String? {
        let parts = label.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count > 2 && parts[0] == "snap" ? name(parts[1], allowing: "-_") : nil
    }

    static func snap(inGroups text: String) -> String? {
        for line in text.split(whereSeparator: \.isNewline) {
            for folder in line.split(separator: "/") where folder.hasPrefix("snap.") {
                if let snap = snap(inLabel: String(folder)) { return snap }
            }
        }
        return nil
    }

    private static func name(_ text: Substring, allowing signs: String) -> String? {
        let isPlain =
            1...255 ~= text.utf8.count
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || signs.contains($0) }
        return isPlain ? String(text) : nil
    }
}

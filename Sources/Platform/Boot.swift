/// The present run of the machine, since it was started.
public enum Boot {
    /// A text of letters, digits and hyphens that differs with each start of the machine. Nil where the kernel does not tell it.
    public static var identifier: String? {
        let text = KernelFile.text("/proc/sys/kernel/random/boot_id")?.prefix { !$0.isNewline }
        let isPlain = text.map { text in
            !text.isEmpty && text.utf8.count <= 64 && text.allSatisfy { $0.isASCII && ($0.isHexDigit || $0 == "-") }
        }
        return isPlain == true ? text.map { String($0) } : nil
    }
}

/// The contents of a backup, and the items that it leaves out.
public struct BackupCount: Sendable, Hashable {
    /// Items in the backup.
    public let items: Int
    /// Items left out, since their accessibility ties them to this device.
    public let leftOut: Int
    /// Items left out, since they are damaged: a backup with them could not be restored.
    public let damaged: Int

    public init(items: Int, leftOut: Int, damaged: Int) {
        self.items = items
        self.leftOut = leftOut
        self.damaged = damaged
    }
}

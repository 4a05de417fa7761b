internal import Foundation
internal import Synchronization
internal import TokenKit

/// Appends each command and answer to a file; what is confidential has been masked before it comes here.
final class TraceFile: CardTrace {
    private let file: Mutex<FileHandle>

    init(path: String) throws {
        let descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandError("cannot write the trace to '\(path)'", unsafe String(cString: strerror(errno)))
        }
        file = Mutex(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true))
    }

    func exchanged(command: String, response: String) {
        file.withLock { $0.write(Data("> \(command)\n< \(response)\n".utf8)) }
    }
}

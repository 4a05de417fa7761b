internal import KeychainModel
internal import Foundation
internal import KeychainCalls

/// The message of a result code, in English.
public func SecCopyErrorMessageString(_ status: OSStatus, _ reserved: UnsafeMutableRawPointer?) -> CFString? {
    ErrSec(rawValue: status).message
}

extension KeychainError {
    var status: OSStatus { code.rawValue }

    /// The error in the form for callers.
    var foundation: CFError {
        CFError(domain: kCFErrorDomainOSStatus, code: Int(status), userInfo: [NSLocalizedDescriptionKey: description])
    }

    /// The error for a caller, who has to release it.
    var retained: Unmanaged<CFError> { unsafe Unmanaged.passRetained(foundation) }
}

extension UnsafeMutablePointer where Pointee == Unmanaged<CFError>? {
    /// Writes the error to the caller's place for it.
    func give(_ error: KeychainError) { unsafe pointee = error.retained }
}

/// Runs `body`. If it fails, the caller receives the error and the result is nil.
func giving<Result>(
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?, _ function: StaticString = #function,
    _ body: () throws(KeychainError) -> Result?
) -> Result? {
    do throws(KeychainError) {
        return try body()
    } catch let failure {
        RefusalLog.note(function, failure)
        unsafe error?.give(failure)
        return nil
    }
}

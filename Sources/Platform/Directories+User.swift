internal import Glibc

extension Directories {
    /// The folders of the user whose rights the program has.
    public static var ofUser: Directories {
        let own = Directories()
        guard own.volatile == nil else { return own }
        let user = geteuid()
        let shared = VolatileFolder(memory: ["/run/user/\(user)", "/dev/shm/tokenkit-\(user)"], cache: own.cache)
        return Directories(shared: shared.path, remark: shared.remark)
    }
}
